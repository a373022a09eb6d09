"""Arrays to numbers (numpy, scipy); knows no frame and no name of ours."""
