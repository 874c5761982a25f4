package process

// measure does nothing on Linux, where listProcesses reads memory and CPU time as well.
func measure(*processInfo) {}
