package bridge

import (
	"encoding/base64"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// WorkspaceHeader is the working folder of a client: an absolute path, or one that is encoded as unpadded
// base64url. A shim sends it, and any other client may. It is not verified, just as the roots of a client are not.
const WorkspaceHeader = privatePrefix + "Workspace"

const maxWorkspace = 4096

// decodeWorkspace decodes the header. It returns "" unless the value is an absolute path.
func decodeWorkspace(header string) string {
	if filepath.IsAbs(header) { // of a client that cannot encode it
		return cleanFolder(header)
	}
	if header == "" || len(header) > base64.RawURLEncoding.EncodedLen(maxWorkspace) {
		return ""
	}
	path, err := base64.RawURLEncoding.DecodeString(header)
	if err != nil {
		return ""
	}
	return cleanFolder(string(path))
}

func cleanFolder(path string) string {
	if len(path) > maxWorkspace || !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return ""
	}
	return filepath.Clean(path)
}

// maxRoots limits the roots of a client that are considered.
const maxRoots = 100

// fileRoots returns the paths of the file URIs in a roots/list result.
func fileRoots(result []byte) (paths []string) {
	found, _ := wire.Pick(result, "roots")
	roots := wire.Bytes(result, found[0])
	_ = wire.Elements(roots, func(root core.Span) error {
		object := wire.Bytes(roots, root)
		if len(paths) >= maxRoots || object[0] != '{' {
			return nil
		}
		found, err := wire.Pick(object, "uri")
		uri, _ := wire.Unquote(wire.Bytes(object, found[0]))
		if path := filePath(uri); path != "" {
			paths = append(paths, path)
		}
		return err
	})
	return paths
}

func filePath(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || !strings.EqualFold(u.Scheme, "file") || u.Host != "" && u.Host != "localhost" {
		return ""
	}
	path := u.Path
	if runtime.GOOS == "windows" { // file:///C:/folder
		path = strings.TrimPrefix(path, "/")
	}
	return cleanFolder(filepath.FromSlash(path))
}
