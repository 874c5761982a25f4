package clientconf

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// BundleName is the file name of the MCP bundle for clients that install bundles.
const BundleName = "drawbridge.mcpb"

// Bundle returns an MCP bundle (manifest 0.3) whose server is our shim, for a client that
// installs such extensions: unlike an entry in its configuration file, an extension survives
// when the client rewrites that file. The bundle contains no token, because the shim reads
// the token from the data directory. It is valid on this machine only, whose program path it
// names.
func (c *Connector) Bundle(client, version string) ([]byte, error) {
	row, err := ByID(client)
	if err != nil {
		return nil, err
	}
	args := []string{"stdio", "--client", row.ID}
	if c.data != "" {
		args = append(args, "--data", c.data)
	}
	launcher, script := "server/drawbridge", "#!/bin/sh\nexec "+shellQuote(c.program)
	for _, a := range args {
		script += " " + shellQuote(a)
	}
	script += "\n"
	platform := runtime.GOOS
	if platform == "windows" {
		platform, launcher = "win32", "server/drawbridge.cmd"
		script = "@\"" + filepath.FromSlash(c.program) + "\" " + strings.Join(args, " ") + "\r\n"
	}
	if version = strings.TrimPrefix(version, "v"); version == "" || version[0] < '0' || version[0] > '9' {
		version = "0.0.0"
	}
	manifest := map[string]any{
		"manifest_version": "0.3", "name": EntryName, "display_name": "Drawbridge", "version": version,
		"description": "All MCP servers that Drawbridge runs on this machine.",
		"author":      map[string]string{"name": "Drawbridge"},
		"server": map[string]any{
			"type": "binary", "entry_point": launcher,
			"mcp_config": map[string]any{"command": c.program, "args": args, "env": map[string]string{}},
		},
		"tools_generated": true, "prompts_generated": true,
		"compatibility": map[string]any{"platforms": []string{platform}},
	}
	text, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range []struct {
		name, text string
		mode       uint32
	}{{"manifest.json", string(text) + "\n", 0o644}, {launcher, script, 0o755}} {
		head := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		head.SetMode(0o755)
		if f.mode == 0o644 {
			head.SetMode(0o644)
		}
		w, err := z.CreateHeader(head)
		if err != nil {
			return nil, err
		}
		if _, err := fmt.Fprint(w, f.text); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// shellQuote quotes s as one word for a POSIX shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
