package desktop

import (
	"encoding/xml"
	"net/url"
)

// toast is a notification in the XML format of Windows.
type toast struct {
	XMLName    xml.Name `xml:"toast"`
	Activation string   `xml:"activationType,attr"`
	Launch     string   `xml:"launch,attr"` // reported for a click that is not on a button
	Binding    struct {
		Template string   `xml:"template,attr"`
		Texts    []string `xml:"text"`
	} `xml:"visual>binding"`
	Actions []toastAction `xml:"actions>action"`
	Audio   struct {
		Silent bool `xml:"silent,attr"`
	} `xml:"audio"`
}

type toastAction struct {
	Activation string `xml:"activationType,attr"`
	Content    string `xml:"content,attr"`
	Arguments  string `xml:"arguments,attr"` // reported for a click on the button
}

// toastXML returns the XML text of a notification. Texts of servers and models are escaped.
func toastXML(n Notification) (string, error) {
	t := toast{Activation: "foreground", Launch: toastArguments(n.PagePath, "")}
	t.Binding.Template = "ToastGeneric"
	t.Binding.Texts = []string{n.Title, n.Text}
	t.Audio.Silent = true
	for _, b := range n.Buttons {
		t.Actions = append(t.Actions, toastAction{"foreground", b.Label, toastArguments(n.PagePath, b.Key)})
	}
	text, err := xml.Marshal(t)
	return string(text), err
}

func toastArguments(to, key string) string { return url.Values{"to": {to}, "key": {key}}.Encode() }

// toastClick returns the click that Windows reports with these arguments.
func toastClick(arguments string) (Click, bool) {
	v, err := url.ParseQuery(arguments)
	if err != nil || !v.Has("key") {
		return Click{}, false
	}
	return Click{Notification{PagePath: v.Get("to")}, v.Get("key")}, true
}
