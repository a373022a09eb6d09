"""Files: readers and writers of a workspace folder."""
