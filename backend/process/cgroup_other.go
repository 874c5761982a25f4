//go:build !linux

package process

import "syscall"

// Other systems have no control groups.

func makeCgroup(string) string                                 { return "" }
func startInCgroup(string, *syscall.SysProcAttr) (done func()) { return func() {} }
func leaveCgroup(*syscall.SysProcAttr) bool                    { return false }
func isCgroupPopulated(string) bool                            { return false }
func killCgroup(string)                                        {}
func endCgroup(string)                                         {}
func endCgroups(string, ...string)                             {}
