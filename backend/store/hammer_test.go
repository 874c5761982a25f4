package store

func hammerIfAsked() bool { return false }
