"""From a composed config to a running trainer: the folder, the checkpoint, the nodes, the driver and its processes."""
