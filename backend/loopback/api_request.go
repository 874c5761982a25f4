package loopback

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
)

// NewAPIRequest returns a request to the API of the daemon at base, authorized by its admin token.
// path is below /api/v1, and in is the body to encode as JSON, or nil.
func NewAPIRequest(ctx context.Context, method, base, path, token string, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, base+"/api/v1/"+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}
