package store

import (
	"bytes"
	"compress/flate"
	"strings"
	"testing"

	"drawbridge/backend/hub"
)

// The writer remembers the rows of names between batches: not beyond the deletion of
// such a row.
func TestNamesThatWereErasedAreMadeAgain(t *testing.T) {
	s := fresh(t)
	record := func(n int) {
		c := aCall(n)
		c.Client.Name, c.Session = "Zed", "private"
		s.Recorder().Record(c, aReply)
		s.Recorder().Flush(t.Context())
	}
	for n := range 3 {
		record(n)
		if _, err := s.Erase(t.Context(), Selection{Client: "Zed"}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Erase(t.Context(), Selection{Session: "private"}); err != nil {
			t.Fatal(err)
		}
	}
	record(7)
	calls, _, err := s.Calls(t.Context(), Query{Client: "Zed", Session: "private"})
	if err != nil || len(calls) != 1 || calls[0].ID != aCall(7).ID {
		t.Errorf("%v, %v", calls, err)
	}
	if st := s.Recorder().Stats(); st.Dropped > 0 || st.State != "recording" {
		t.Errorf("%+v", st)
	}
	var broken int
	if err := s.h.read.QueryRowContext(t.Context(), `SELECT count(*) FROM pragma_foreign_key_check`).Scan(&broken); err != nil || broken > 0 {
		t.Errorf("%d rows refer to nothing, %v", broken, err)
	}
}

// A batch may come again, because its commit worked and was reported as failed.
func TestACallIsWrittenAndCountedOnce(t *testing.T) {
	s := fresh(t)
	for range 2 {
		for n := range 40 {
			s.Recorder().Record(aCall(n), aReply)
		}
		s.Recorder().Flush(t.Context())
	}
	s.Recorder().Record(aCall(41), aReply)
	if n := count(t, s); n != 41 {
		t.Errorf("%d calls", n)
	}
	u, err := s.Usage(t.Context(), UsageQuery{From: aCall(0).At, To: aCall(60_000).At})
	if err != nil || u.Total.Calls != 41 {
		t.Errorf("%+v, %v", u, err)
	}
	if st := s.Recorder().Stats(); st.Dropped > 0 {
		t.Errorf("%+v", st)
	}
}

func TestPackedPayloadsComeBack(t *testing.T) {
	s := fresh(t)
	random := make([]byte, 8<<10)
	for i, x := 0, uint32(1); i < len(random); i++ {
		x = x*1664525 + 1013904223
		random[i] = 'a' + byte(x>>24)%26
	}
	texts := []string{"short", strings.Repeat("long and even ", 2000), string(random), strings.Repeat("x", 200_000)}
	s.Recorder().SetMaxField(1 << 20)
	for n, text := range texts {
		c := aCall(n)
		c.Params = []byte(`{"name":"echo","arguments":{"n":"` + text + `"}}`)
		c.Arguments = hub.Span{Start: 27, End: len(c.Params) - 1}
		s.Recorder().Record(c, textReply(text))
	}
	for n, text := range texts {
		r, err := s.Call(t.Context(), aCall(n).ID)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(r.Arguments, []byte(`"`+text+`"`)) || !bytes.Contains(r.Result, []byte(`"`+text+`"`)) {
			t.Errorf("payload %d is not the same: %.60s ... %.60s", n, r.Arguments, r.Result)
		}
	}
}

// What an earlier version packed is read.
func TestDeflatedPayloadsAreRead(t *testing.T) {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.BestSpeed)
	_, _ = w.Write([]byte("as it was"))
	_ = w.Close()
	if b, err := unpack(out.Bytes(), encDeflate); err != nil || string(b) != "as it was" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := unpack([]byte("\xff\xff\xff\xff\x0fno"), encS2); err == nil {
		t.Error("no error for what claims to be larger than anything")
	}
}
