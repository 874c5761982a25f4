package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestEchoToolIsFoundInJSONAndInEventStreams(t *testing.T) {
	list := `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"status"},{"name":"up_1mcp_echo"}]}}`
	for name, body := range map[string]string{
		"JSON":                             list,
		"JSON in several lines":            strings.ReplaceAll(list, ",", ",\n"),
		"event stream":                     "event: message\ndata: " + list + "\n\n",
		"event stream with an empty event": "id: 1\r\ndata: \r\n\r\nevent: message\r\nid: 2\r\ndata: " + list + "\r\n\r\n",
		"event stream without spaces":      "data:" + list + "\n\n",
		"event stream with a notification": "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\ndata: " + list + "\n\n",
	} {
		assert.Equal(t, "up_1mcp_echo", echoToolIn([]byte(body)), name)
	}
	for _, body := range []string{"", "not found", `{"error":{"message":"echo"}}`, `{"result":{"tools":[]}}`} {
		assert.Empty(t, echoToolIn([]byte(body)), body)
	}
}

func TestPeerTableShowsFailedPeersBesideTheOthers(t *testing.T) {
	floor := []measurement{{p50: time.Millisecond, p99: 2 * time.Millisecond, rate: 1000}}
	slower := []measurement{{p50: 120 * time.Millisecond, p99: 3 * time.Millisecond, rate: 4}}
	table := peerTable([]*peerResult{
		{name: "a", version: "1.0.0", compared: []workloadComparison{{floor: floor, ours: slower}, {floor: floor, ours: floor}}},
		{name: "b", version: "2.0.0", err: errors.New("it ended: a|b\nmore")},
	})
	for _, row := range []string{"| a | 1.0.0 | 120 | 1.5 | 0.004 | 1 | 1 | 1 |\n", "| b | 2.0.0 | not measured: it ended: a/b | | | | | |\n"} {
		assert.Contains(t, table, row, "the table lacks")
	}
}
