package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestScanFindsEnvelopeWithoutDecodingPayload(t *testing.T) {
	t.Parallel()
	const msg = ` {"jsonrpc":"2.0", "id" : "a\"b","method":"tools\/call","params":{"x":9007199254740993}} `
	env, err := Scan([]byte(msg))
	require.NoError(t, err)
	require.Truef(t, env.Kind == Request && env.Method == "tools/call" && env.HasVersion && !env.Dirty(), "got %+v", env)
	assert.Equal(t, `"a\"b"`, string(Bytes([]byte(msg), env.ID)))
	assert.Equal(t, `{"x":9007199254740993}`, string(Bytes([]byte(msg), env.Params)))
}

func TestScanDistinguishesMessageKinds(t *testing.T) {
	t.Parallel()
	for msg, want := range map[string]Kind{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                                Request,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`:                  Notification,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                    Response,
		`{"result":{},"id":1}`:                                                    Response,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`:      Response,
		`{"jsonrpc":"2.0","id":1}`:                                                Response,
		`{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"x"}}`: Response,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`:                              Batch,
		`{}`: Other, `{"level":"info","id":7}`: Other, `null`: Other, `"x"`: Other, `[]`: Batch, `3`: Other,
		`{"level":"error","id":7,"error":"boom"}`: Other,
	} {
		env, err := Scan([]byte(msg))
		assert.NoErrorf(t, err, "Scan(%s)", msg)
		assert.Equalf(t, want, env.Kind, "Scan(%s)", msg)
	}
}

func TestScanRefusesAmbiguousJSON(t *testing.T) {
	t.Parallel()
	for name, msg := range map[string]string{
		"duplicate":          `{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`,
		"duplicate, escaped": `{"jsonrpc":"2.0","id":1,"method":"a","m\u0065thod":"b"}`,
		"escaped":            `{"jsonrpc":"2.0","id":1,"m\u0065thod":"b"}`,
		"folded":             `{"jsonrpc":"2.0","id":1,"Method":"a"}`,
		"long s":             `{"jsonrpc":"2.0","id":1,"method":"a","paramſ":{}}`,
		"long s, escaped":    `{"jsonrpc":"2.0","id":1,"method":"a","param\u017f":{}}`,
		"unknown duplicate":  `{"jsonrpc":"2.0","id":1,"method":"a","x":1,"X":2}`,
		"NUL key":            `{"jsonrpc":"2.0","id":1,"method":"a","method\u0000":"b"}`,
		"method and result":  `{"jsonrpc":"2.0","id":1,"method":"a","result":{}}`,
		"array id":           `{"jsonrpc":"2.0","id":[1],"method":"a"}`,
		"bool id":            `{"jsonrpc":"2.0","id":true,"result":{}}`,
		"null id":            `{"jsonrpc":"2.0","id":null,"method":"a"}`,
		"method type":        `{"jsonrpc":"2.0","id":1,"method":7}`,
		"params type":        `{"jsonrpc":"2.0","id":1,"method":"a","params":7}`,
	} {
		if env, err := Scan([]byte(msg)); err == nil {
			t.Errorf("%s: accepted as %+v: %s", name, env, msg)
		} else if err.(*Error).Code != CodeInvalidRequest {
			t.Errorf("%s: code %d, want %d", name, err.(*Error).Code, CodeInvalidRequest)
		}
	}
}

func TestScanRefusesDeepNestingOnly(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct{ open, middle, shut string }{{"[", "", "]"}, {`{"a":`, "1", "}"}, {`[{"a":`, "1", "}]"}} {
		levels := strings.Count(kind.open, "[") + strings.Count(kind.open, "{")
		deep := func(n int) []byte {
			return []byte(`{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat(kind.open, n) + kind.middle + strings.Repeat(kind.shut, n) + `}`)
		}
		_, err := Scan(deep((MaxDepth - 1) / levels))
		assert.NoErrorf(t, err, "%s, depth %d", kind.open, MaxDepth-1)
		for _, n := range []int{MaxDepth, 9_000, 1_000_000} {
			_, err = Scan(deep(n / levels))
			assert.Errorf(t, err, "%s, depth %d accepted", kind.open, n)
		}
	}
}

func TestScanParamsRefusesDuplicateKeys(t *testing.T) {
	t.Parallel()
	for _, params := range []string{
		`{"name":"safe","name":"evil"}`, `{"name":"safe","Name":"evil"}`, `{"name":"safe","n\u0061me":"evil"}`,
		`{"_meta":{"progressToken":1,"progressToken":2}}`, `{"x\u0000":1}`, `[1]`, `{"_meta":3}`,
	} {
		if p, err := ScanParams([]byte(params)); err == nil {
			t.Errorf("%s accepted as %+v", params, p)
		} else if err.(*Error).Code != CodeInvalidParams {
			t.Errorf("%s: code %d", params, err.(*Error).Code)
		}
	}
}

func TestScanParamsFindsNamesTokensAndEraFields(t *testing.T) {
	t.Parallel()
	params := []byte(`{"n\u0061me":"t","arguments":{"a":[1]},"_meta":{"progressToken":7,` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c"},"traceparent":"00-1"}}`)
	p, err := ScanParams(params)
	require.NoError(t, err)
	for want, span := range map[string]core.Span{
		`"t"`: p.Name, `{"a":[1]}`: p.Arguments, `7`: p.ProgressToken,
		`"2026-07-28"`: p.ProtocolVersion, `{"name":"c"}`: p.ClientInfo, `"00-1"`: p.TraceParent,
	} {
		assert.Equal(t, want, string(Bytes(params, span)))
	}
}

func TestCompactKeepsTokensAndRepairsText(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"{ \"a\" :\r\n [1.0 , 1e3,\t9007199254740993 ] }": `{"a":[1.0,1e3,9007199254740993]}`,
		"\"a b\\n\\u00e9\"":     `"a b\n\u00e9"`,
		"\"a\xffb\xc3\"":        "\"a\uFFFDb\uFFFD\"",
		`"x\ud800y\udc00"`:      `"x\ufffdy\ufffd"`,
		`"\ud83d\ude00 \ud83d"`: `"\ud83d\ude00 \ufffd"`,
		`"\\ud800"`:             `"\\ud800"`,
	} {
		got := Compact(nil, []byte(src))
		assert.Equalf(t, want, string(got), "Compact(%q)", src)
		env, err := Scan(got)
		assert.Truef(t, err == nil && !env.Dirty(), "Compact(%q) is dirty or invalid: %v", src, err)
	}
}

func TestUnquoteMatchesEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`""`, `"abc"`, `"a\"\\\/\b\f\n\r\t"`, `"\u00e9\ud83d\ude00\ud800x"`, "\"\xff\"", `"é"`} {
		var want string
		require.NoError(t, json.Unmarshal([]byte(raw), &want))
		got, ok := Unquote([]byte(raw))
		assert.Truef(t, ok && got == want, "Unquote(%s) = %q, want %q", raw, got, want)
	}
}

func TestAppendStringRoundTrips(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a\"b\\c", "\x00\x1f\n\u2028é😀", "a\xffb"} {
		raw := AppendString(nil, text)
		got, ok := Unquote(raw)
		assert.Truef(t, ok && got == strings.ToValidUTF8(text, "\uFFFD"), "%q came back as %q from %s", text, got, raw)
	}
}

func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":[1,-0.5e+3,"\u00e9",null,true]}}`,
		`{"a":1,"a":2}`, `[[[]]]`, `-`, `01`, `1.`, `1e`, `"\x"`, "\"\x01\"", "\"\xff\"", `{"a":}`, ` 1 `, `tru`, `{"a":1,}`, `{"\ud800":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		env, err := Scan(msg)
		valid := json.Valid(msg)
		require.Falsef(t, err == nil && !valid, "accepted, but no JSON: %q", msg)
		require.Falsef(t, err != nil && valid && err.(*Error).Code == CodeParse, "JSON refused as no JSON: %q: %v", msg, err)
		if err != nil {
			return
		}
		for _, span := range []core.Span{env.ID, env.Params, env.Result, env.Error} {
			require.Falsef(t, !span.Empty() && !json.Valid(Bytes(msg, span)), "span %v of %q is not a value", span, msg)
		}
		clean := Compact(nil, msg)
		again, err := Scan(clean)
		require.Truef(t, err == nil && !again.Dirty() && again.Kind == env.Kind, "Compact(%q) = %q: %+v, %v", msg, clean, again, err)
		var a, b any
		if json.Unmarshal(msg, &a) == nil && json.Unmarshal(clean, &b) == nil {
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			require.Equalf(t, y, x, "Compact changed %q to %q", msg, clean)
		}
	})
}

func FuzzSplice(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","_meta":{"progressToken":"t"}}}`), []byte(`"new"`))
	f.Fuzz(func(t *testing.T, msg, with []byte) {
		env, err := Scan(msg)
		if err != nil || env.ID.Empty() || !json.Valid(with) {
			return
		}
		with = Compact(nil, with)
		got := Splice(nil, msg, Edit{Span: env.ID, With: with})
		require.Truef(t, json.Valid(got), "%q spliced into %q gives no JSON: %q", with, msg, got)
		back := Splice(nil, got, Edit{Span: core.Span{Start: env.ID.Start, End: env.ID.Start + len(with)}, With: Bytes(msg, env.ID)})
		require.Equal(t, msg, back, "not reversible")
	})
}

func BenchmarkScan(b *testing.B) {
	for name, size := range map[string]int{"60B": 60, "10KB": 10 << 10, "1MB": 1 << 20} {
		text := strings.Repeat("lorem ipsum dolor sit amet ", size/27+1)[:size]
		msg := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + text + `"}],"isError":false}}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(msg)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Scan(msg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
