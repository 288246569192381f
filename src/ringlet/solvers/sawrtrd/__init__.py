"""The paper: AWRTRD and SAWRTRD."""
