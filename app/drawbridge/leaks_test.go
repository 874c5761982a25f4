package main

import (
	"testing"

	"go.uber.org/goleak"

	"drawbridge/backend/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.MainIfAsked()
	goleak.VerifyTestMain(m)
}
