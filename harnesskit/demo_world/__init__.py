"""The parts of the demo: an invented support agent of a web shop, with effects planted in its evidence."""
