package desktop

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
)

// file returns the path and content of the LaunchAgent. It has not been tested on macOS.
func (a Autostart) file() (path string, content []byte, err error) {
	dir := a.config
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", nil, err
		}
		dir = filepath.Join(home, "Library", "LaunchAgents")
	}
	label := "app." + a.name()
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key><string>` + label + `</string>
	<key>ProgramArguments</key>
	<array>
`)
	for _, arg := range a.arguments() {
		b.WriteString("\t\t<string>")
		if err := xml.EscapeText(&b, []byte(arg)); err != nil {
			return "", nil, err
		}
		b.WriteString("</string>\n")
	}
	b.WriteString(`	</array>
	<key>RunAtLoad</key><true/>
	<key>ProcessType</key><string>Interactive</string>
</dict>
</plist>
`)
	return filepath.Join(dir, label+".plist"), b.Bytes(), nil
}
