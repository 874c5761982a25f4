// Command conformance is the client leg of the official conformance suite against our
// connection to remote servers:
//
//	go build -o client ./backend/upstream/testdata/conformance
//	node .../conformance/dist/index.js client --command ./client --requirements 2025-11-25
//
// It plays the client application behind the bridge: it answers what servers ask.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: conformance URL")
	}
	if err := run(os.Args[len(os.Args)-1], os.Getenv("MCP_CONFORMANCE_SCENARIO")); err != nil {
		log.Fatal(err)
	}
}

func run(url, scenario string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	// As in the daemon: one connection without a word about the era, which is found out,
	// and another one for what modern clients send.
	var era core.Era
	if os.Getenv("MCP_CONFORMANCE_PROTOCOL_VERSION") >= core.ModernVersion {
		era = core.Modern
	}
	c, err := upstream.Connect(ctx, upstream.Options{
		Server: "conformance", Era: era, Remote: &upstream.Remote{URL: url}, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		ClientInfo: []byte(`{"name":"drawbridge","version":"1"}`), Capabilities: []byte(`{"elicitation":{"form":{}}}`),
	})
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	tools := c.Catalog().Tools
	say := func(method, params string) {
		if err := exchange(ctx, c, method, json.RawMessage(params)); err != nil {
			log.Printf("%s: %v", method, err)
		}
	}
	call := func(name, arguments string) {
		say("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments))
	}
	switch scenario {
	case "tools_call":
		call("add_numbers", `{"a":5,"b":3}`)
	case "elicitation-sep1034-client-defaults":
		call("test_client_elicitation_defaults", `{}`)
	case "sse-retry":
		call("test_reconnection", `{}`)
	case "sep-2322-client-request-state":
		for _, name := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
			call(name, `{}`)
		}
	case "http-standard-headers":
		for _, tool := range tools {
			call(tool.Name, `{}`)
		}
		for _, resource := range c.Catalog().Resources {
			say("resources/read", fmt.Sprintf(`{"uri":%q}`, resource.Name))
		}
		for _, prompt := range c.Catalog().Prompts {
			say("prompts/get", fmt.Sprintf(`{"name":%q}`, prompt.Name))
		}
	case "http-custom-headers":
		var given struct {
			ToolCalls []struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given); err != nil {
			return err
		}
		for _, one := range given.ToolCalls {
			call(one.Name, string(one.Arguments))
		}
	case "http-invalid-tool-headers":
		for _, tool := range tools {
			call(tool.Name, `{"region":"us-west1"}`)
		}
	case "json-schema-2020-12-preservation":
		for _, tool := range tools {
			if tool.Name == "json_schema_2020_12_tool" {
				var entry struct {
					InputSchema json.RawMessage `json:"inputSchema"`
				}
				if err := json.Unmarshal(tool.Raw, &entry); err != nil {
					return err
				}
				call("json_schema_echo", `{"schema":`+string(entry.InputSchema)+`}`)
			}
		}
	}
	return nil
}

// exchange sends a request as the bridge does for a client of the connection's era, and
// answers what a modern server asks with its result.
func exchange(ctx context.Context, c *upstream.Conn, method string, params json.RawMessage) error {
	for range 5 {
		reply, err := c.Send(ctx, &core.Call{Era: c.Peer().Era, Method: method, Params: params}, person{})
		if err != nil {
			return err
		}
		if reply.Error != nil {
			return fmt.Errorf("%s", reply.Error)
		}
		var result struct {
			ResultType    string                     `json:"resultType"`
			InputRequests map[string]json.RawMessage `json:"inputRequests"`
			RequestState  json.RawMessage            `json:"requestState"`
		}
		if err := json.Unmarshal(reply.Result, &result); err != nil || result.ResultType != "input_required" {
			return err
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(params, &fields); err != nil {
			return err
		}
		delete(fields, "requestState")
		answers := map[string]json.RawMessage{}
		for key := range result.InputRequests {
			answers[key] = json.RawMessage(`{"action":"accept","content":{"confirmed":true}}`)
		}
		fields["inputResponses"], _ = json.Marshal(answers)
		if result.RequestState != nil {
			fields["requestState"] = result.RequestState
		}
		if params, err = json.Marshal(fields); err != nil {
			return err
		}
	}
	return fmt.Errorf("the server asks without end")
}

// person accepts whatever is asked, with the defaults of the form.
type person struct{}

func (person) Notify(string, json.RawMessage) {}

func (person) Ask(_ context.Context, _ string, params json.RawMessage) (core.Reply, error) {
	var form struct {
		RequestedSchema struct {
			Properties map[string]struct {
				Default json.RawMessage `json:"default"`
			} `json:"properties"`
		} `json:"requestedSchema"`
	}
	if err := json.Unmarshal(params, &form); err != nil {
		return core.Reply{}, err
	}
	content := map[string]json.RawMessage{}
	for name, property := range form.RequestedSchema.Properties {
		if property.Default != nil {
			content[name] = property.Default
		}
	}
	raw, err := json.Marshal(map[string]any{"action": "accept", "content": content})
	return core.Reply{Result: raw}, err
}
