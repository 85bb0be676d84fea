"""The ground floor: what every other package may use, and which uses none of them."""
