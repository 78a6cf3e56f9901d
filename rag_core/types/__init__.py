"""What things are: frozen dataclasses, enums, protocols and boundary models. No behaviour."""
