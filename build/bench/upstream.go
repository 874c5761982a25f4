package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// serveTools runs a server with count tools, with descriptions of a realistic length.
func serveTools(count int) error {
	var list strings.Builder
	for i := range count {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, `{"name":"tool_%d","description":"Does what tool number %d does with the text it gets.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}`, i, i)
	}
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	out := bufio.NewWriter(os.Stdout)
	for {
		line, err := readLine(in)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		result := ""
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}`
		case "tools/list":
			result = `{"tools":[` + list.String() + `]}`
		case "ping":
			result = `{}`
		case "tools/call":
			result = `{"content":[{"type":"text","text":"done"}]}`
		}
		if result == "" {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`+"\n", m.ID)
		} else {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

// serveFixedSizeLines responds to each line with a line of count bytes.
func serveFixedSizeLines(count int) error {
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	answer := append(bytes.Repeat([]byte("x"), max(count-1, 0)), '\n')
	for {
		if _, err := readLine(in); err != nil {
			return nil
		}
		if _, err := os.Stdout.Write(answer); err != nil {
			return err
		}
	}
}
