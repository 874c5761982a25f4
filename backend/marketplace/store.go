package marketplace

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

const (
	versionKeyPrefix = "version/"
	maxEarlier       = 10
)

// earlierVersions returns the previous versions of a server, newest first.
func (f *Feature) earlierVersions(ctx context.Context, server string) ([]EarlierVersion, error) {
	list := []EarlierVersion{}
	text, known, err := f.Store.Metadata(ctx, versionKeyPrefix+server)
	if known {
		_ = json.Unmarshal(text, &list) // invalid data is discarded
	}
	return web.NonNil(list), err
}

// saveEarlierVersion adds a previous version of a server, which now has the version text, and
// returns all of them.
func (f *Feature) saveEarlierVersion(ctx context.Context, server string, list []EarlierVersion, was, text string) ([]EarlierVersion, error) {
	list = slices.DeleteFunc(list, func(e EarlierVersion) bool { return e.Configured == text || e.Configured == was })
	list = slices.Insert(list, 0, EarlierVersion{was, time.Now().UTC().Truncate(time.Second)})
	list = list[:min(len(list), maxEarlier)]
	value, err := json.Marshal(list)
	if err != nil {
		return list, err
	}
	return list, f.Store.SaveMetadata(ctx, versionKeyPrefix+server, value)
}
