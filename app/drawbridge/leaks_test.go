package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.MainIfAsked()
	goleak.VerifyTestMain(m)
}
