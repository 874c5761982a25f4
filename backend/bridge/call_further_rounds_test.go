package bridge

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/stretchr/testify/assert"
)

func TestFurtherRoundsKeepTheProfile(t *testing.T) {
	s := newProfileFixture(t)
	var rounds []string
	s.gateway.answer = func(_ context.Context, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		p, _ := wire.ScanParams(call.Params)
		rounds = append(rounds, call.Profile)
		if len(wire.Bytes(call.Params, p.RequestState)) == 0 {
			return core.Reply{Result: json.RawMessage(`{"resultType":"input_required","requestState":"one","inputRequests":{"b":{"method":"roots/list"}}}`)}, nil
		}
		return core.Reply{Result: json.RawMessage(`{"content":[]}`)}, nil
	}
	h := s.openSession("/p/p/mcp", `{"roots":{}}`)
	resp := s.post("/p/p/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"in__do","arguments":{"a":1.0}}}`, h...)
	for m := range events(resp.Body) {
		var ask struct{ ID, Method string }
		if json.Unmarshal([]byte(m), &ask); ask.Method != "" {
			s.post("/p/p/mcp", `{"jsonrpc":"2.0","id":"`+ask.ID+`","result":{"roots":[]}}`, h...)
		}
	}
	assert.Equal(t, []string{"p", "p"}, rounds, "the rounds have the profiles")
}

// A field of core.Call is copied to a further round unless it is listed here.
func TestFurtherRoundsCopyWhatIdentifiesTheCall(t *testing.T) {
	own := strings.Fields("At Began Params Arguments ProgressToken BytesIn Continues")
	reset := strings.Fields("ID Meta HasModernMeta Task Outcome Code Reason Stack Took Queued BytesOut Attempts Instance Progress ProgressLog " +
		"Verdict Repaired ServedBy Cached Approval")
	call := &core.Call{}
	v := reflect.ValueOf(call).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int64:
			f.SetInt(1)
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Func:
			f.Set(reflect.MakeFunc(f.Type(), nil))
		}
	}
	call.Admission.Launch = "x"
	call.Client, call.Meta, call.Params = core.Client{Token: "t"}, core.Span{Start: 1, End: 2}, json.RawMessage(`{}`)
	cs := &calls{Options: &Options{Now: time.Now}}
	repeated := reflect.ValueOf(cs.repeatCall(call, nil, nil)).Elem()
	for i := range v.NumField() {
		name, f := v.Type().Field(i).Name, repeated.Field(i)
		switch {
		case slices.Contains(own, name):
		case slices.Contains(reset, name):
			assert.Truef(t, f.IsZero(), "%s is not reset", name)
		case f.IsZero() || f.Kind() != reflect.Func && !reflect.DeepEqual(f.Interface(), v.Field(i).Interface()):
			t.Errorf("%s is not copied", name)
		}
	}
}
