package osutil

import (
	"errors"

	"golang.org/x/sys/windows/registry"
)

// CheckWindowRuntime returns an error if WebView2, which shows the page in the window, is not installed. The
// window itself would ask to download it. The registry has the version of what is installed, as
// https://learn.microsoft.com/microsoft-edge/webview2/concepts/distribution describes.
func CheckWindowRuntime() error {
	const client = `Microsoft\EdgeUpdate\Clients\{F3017226-FE2A-4295-8BDF-00C3A9A7E4C5}`
	for path, root := range map[string]registry.Key{
		`SOFTWARE\WOW6432Node\` + client: registry.LOCAL_MACHINE,
		`SOFTWARE\` + client:             registry.LOCAL_MACHINE,
		`Software\` + client:             registry.CURRENT_USER,
	} {
		key, err := registry.OpenKey(root, path, registry.QUERY_VALUE)
		if err != nil {
			continue
		}
		version, _, err := key.GetStringValue("pv")
		key.Close()
		if err == nil && version != "" && version != "0.0.0.0" {
			return nil
		}
	}
	return errors.New("the WebView2 Runtime is not installed; get it from https://developer.microsoft.com/microsoft-edge/webview2")
}
