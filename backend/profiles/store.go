package profiles

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

// Store holds the calls of clients, those in folders, and the dismissed suggestions; *store.Store implements it.
type Store interface {
	ClientTools(ctx context.Context, since time.Time, days int) ([]store.ClientTool, error)
	FolderTargets(ctx context.Context, since time.Time) ([]store.FolderTarget, error)
	Metadata(ctx context.Context, key string) (value []byte, ok bool, err error)
	SaveMetadata(ctx context.Context, key string, value []byte) error
}

const dismissedKey = "dismissed_profile_suggestions"

func (f *Feature) dismissed(ctx context.Context) (folders []string, err error) {
	raw, ok, err := f.Store.Metadata(ctx, dismissedKey)
	if err != nil || !ok {
		return nil, err
	}
	return folders, json.Unmarshal(raw, &folders)
}

func (f *Feature) dismissSuggestion(ctx context.Context, in *dismissInput) (*web.None, error) {
	f.dismissing.Lock()
	defer f.dismissing.Unlock()
	folders, err := f.dismissed(ctx)
	if err != nil {
		return nil, err
	}
	folders = slices.DeleteFunc(folders, func(one string) bool { return one == in.Body.Folder })
	if in.Body.Dismissed {
		folders = append(folders, in.Body.Folder)
	}
	folders = folders[max(0, len(folders)-maxDismissed):]
	raw, err := json.Marshal(folders)
	if err != nil {
		return nil, err
	}
	return &web.None{}, f.Store.SaveMetadata(ctx, dismissedKey, raw)
}
