//go:build !windows

package main

import "bytes"

func attachConsole() *bytes.Buffer { return nil }

func showFailure(*bytes.Buffer) {}
