"""What can be known to be wrong before Ray starts, each with the setting and the mend."""
