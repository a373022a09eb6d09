"""Files of other tools as samples and scores; one module per tool, and one path into the workspace for all of them."""
