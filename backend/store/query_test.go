package store

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inSessions records a call in each of n sessions.
func inSessions(t *testing.T, b *testStore, client string, from, n int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		c := aCall(i)
		c.Session, c.Client.Token, c.Client.Name = fmt.Sprintf("story-%d-", i), client, client
		b.Recorder().Record(c, aReply)
	}
	flushed(t, b)
}

func TestEmptySessionsHideNoOthers(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	inSessions(t, b, "kept", 0, 3)
	inSessions(t, b, "gone", 3, 20)
	n, err := b.Erase(t.Context(), Selection{Client: "gone"})
	require.Truef(t, err == nil && n == 20, "%v %v", n, err)
	for i := range 5 { // left by earlier versions
		require.NoError(t, b.exec(t.Context(), `INSERT INTO session (name) VALUES (?)`, fmt.Sprint("of an earlier version ", i)))
	}
	var seen []string
	for before := int64(0); ; {
		stories, next, err := b.Sessions(t.Context(), before, 2)
		require.NoError(t, err)
		for _, s := range stories {
			seen = append(seen, s.Session)
		}
		if before = next; next == 0 {
			break
		}
	}
	assert.Equal(t, "[story-2- story-1- story-0-]", fmt.Sprint(seen))
	data, err := os.ReadFile(b.path)
	assert.Truef(t, err == nil && !bytes.Contains(data, []byte("story-7-")), "the name of an erased session stays in the file, %v", err)
}

func TestSessionNamesNoServerForCallsToUnknownTools(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	c := aCall(1)
	c.Session = "s"
	b.Recorder().Record(c, aReply)
	unknown := aCall(2)
	unknown.Session, unknown.Server = "s", ""
	b.Recorder().Record(unknown, aReply)
	flushed(t, b)
	sessions, _, err := b.Sessions(t.Context(), 0, 0)
	if err != nil || len(sessions) != 1 || sessions[0].Calls != 2 || fmt.Sprint(sessions[0].Servers) != fmt.Sprint([]string{c.Server}) {
		t.Errorf("%+v %v", sessions, err)
	}
}

// The tools of the newest sessions are counted by session, without those of Drawbridge itself.
func TestToolsAreCountedBySession(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	inSessions(t, b, "old", 0, 2)
	for i := range 5 {
		c := aCall(10 + i)
		c.Session, c.Client.Token, c.Method, c.Server, c.Name = "new", "cursor", "tools/call", "files", []string{"read", "read", "write", "find_tools", "read"}[i]
		if c.Name == "find_tools" {
			c.Server = "drawbridge"
		}
		b.Recorder().Record(c, aReply)
	}
	flushed(t, b)
	list, err := b.SessionTools(t.Context(), time.Unix(0, 0), 1)
	require.NoError(t, err)
	got := ""
	for _, one := range list {
		got += fmt.Sprintf("%s %s %s %d %t;", one.Session, one.Client.Token, one.Name, one.Calls, one.ResultBytes > 0)
	}
	assert.Equal(t, "new cursor read 3 true;new cursor write 1 true;", got, "the tools")
}
