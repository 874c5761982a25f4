package process

// Invocation is how a running process was started.
type Invocation struct {
	Path string   // of the executable
	Args []string // with the name of the program
	Env  []string // NAME=value
}
