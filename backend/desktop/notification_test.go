package desktop

import (
	"encoding/xml"
	"strings"
	"testing"
)

// Texts come from servers and models: they must not become markup or buttons of a notification.
func TestToastEscapesTexts(t *testing.T) {
	evil := `]]></text><action content="Deny" arguments="key=approve:q1"/>"' & $(calc)`
	text, err := toastXML(Notification{Title: evil, Text: evil, PagePath: `/servers/"><action/>`, Buttons: []Button{{evil, `deny:"><action/>`}}})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text, "<action "); n != 1 {
		t.Errorf("%d buttons instead of 1: %s", n, text)
	}
	var back toast
	if err := xml.Unmarshal([]byte(text), &back); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if got := back.Binding.Texts; len(got) != 2 || got[0] != evil || got[1] != evil || back.Actions[0].Content != evil {
		t.Errorf("the texts became %q, %q", got, back.Actions[0].Content)
	}
}

// A click opens the page of its notification, a button reports its key.
func TestToastReportsButtons(t *testing.T) {
	text, err := toastXML(Notification{PagePath: "/approvals?a=b&c", Buttons: []Button{{"Allow once", "approve:q 1&key=deny:q1"}}})
	if err != nil {
		t.Fatal(err)
	}
	var back toast
	if err := xml.Unmarshal([]byte(text), &back); err != nil {
		t.Fatal(err)
	}
	if c, ok := toastClick(back.Launch); !ok || c.Key != "" || c.Notification.PagePath != "/approvals?a=b&c" {
		t.Errorf("a click: %+v", c)
	}
	if c, ok := toastClick(back.Actions[0].Arguments); !ok || c.Key != "approve:q 1&key=deny:q1" || c.Notification.PagePath != "/approvals?a=b&c" {
		t.Errorf("a button: %+v", c)
	}
	for _, other := range []string{"", "%", "to=/x"} {
		if c, ok := toastClick(other); ok {
			t.Errorf("%q is a click: %+v", other, c)
		}
	}
}
