"""What the product does, one module each; joins rules to ports."""
