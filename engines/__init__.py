"""Who judges: the protocol of an engine, and the engines that come with the package."""
