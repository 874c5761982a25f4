package process

// measure has nothing to add: scan reads memory and processor time as well.
func measure(*processInfo) {}
