package desktop

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Texts come from servers and models: they must not become markup or buttons of a notification.
func TestToastEscapesTexts(t *testing.T) {
	evil := `]]></text><action content="Deny" arguments="key=approve:q1"/>"' & $(calc)`
	text, err := toastXML(Notification{Title: evil, Text: evil, PagePath: `/servers/"><action/>`, Buttons: []Button{{evil, `deny:"><action/>`}}})
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(text, "<action "), text)
	var back toast
	require.NoError(t, xml.Unmarshal([]byte(text), &back), text)
	if got := back.Binding.Texts; len(got) != 2 || got[0] != evil || got[1] != evil || back.Actions[0].Content != evil {
		t.Errorf("the texts became %q, %q", got, back.Actions[0].Content)
	}
}

// A click opens the page of its notification, a button reports its key.
func TestToastReportsButtons(t *testing.T) {
	text, err := toastXML(Notification{PagePath: "/approvals?a=b&c", Buttons: []Button{{"Allow once", "approve:q 1&key=deny:q1"}}})
	require.NoError(t, err)
	var back toast
	require.NoError(t, xml.Unmarshal([]byte(text), &back))
	c, ok := toastClick(back.Launch)
	assert.Truef(t, ok && c.Key == "" && c.Notification.PagePath == "/approvals?a=b&c", "a click: %+v", c)
	c, ok = toastClick(back.Actions[0].Arguments)
	assert.Truef(t, ok && c.Key == "approve:q 1&key=deny:q1" && c.Notification.PagePath == "/approvals?a=b&c", "a button: %+v", c)
	for _, other := range []string{"", "%", "to=/x"} {
		if c, ok := toastClick(other); ok {
			t.Errorf("%q is a click: %+v", other, c)
		}
	}
}
