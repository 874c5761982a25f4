package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// chase does nothing here: the table of processes is read in one piece.
type chase struct{}

func newChase(func(string) bool) *chase { return &chase{} }

func (*chase) knows(info) bool { return false }
func (*chase) spare(info)      {}

func (*chase) run(d time.Duration, _ unix.Signal) bool {
	time.Sleep(d)
	return false
}
