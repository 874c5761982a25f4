package sandbox

import (
	"os"
	"slices"
	"strings"
)

// mount is one line of /proc/self/mountinfo.
type mount struct {
	device string // of the file system
	root   string // the folder of the file system that is mounted
	at     string
}

// withOtherMounts returns paths and the other paths of the same files, where a file system is
// mounted more than once: by bind mounts, or as several subvolumes.
func withOtherMounts(paths []string) []string {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil { // not Linux
		return paths
	}
	return appendOtherMounts(paths, mountedTwice(string(text)))
}

// mountedTwice returns the mounts of the file systems that are mounted more than once.
func mountedTwice(mountinfo string) []mount {
	byDevice := map[string][]mount{}
	for line := range strings.Lines(mountinfo) {
		if f := strings.Fields(line); len(f) > 4 {
			byDevice[f[2]] = append(byDevice[f[2]], mount{f[2], unescapeMount(f[3]), unescapeMount(f[4])})
		}
	}
	var list []mount
	for _, mounts := range byDevice {
		if len(mounts) > 1 {
			list = append(list, mounts...)
		}
	}
	return list
}

// unescapeMount undoes the escapes of spaces and other special characters in mountinfo.
var unescapeMount = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace

func appendOtherMounts(paths []string, mounts []mount) []string {
	all := slices.Clone(paths)
	for _, path := range paths {
		for _, here := range mounts {
			if !contains(here.at, path) {
				continue
			}
			inFS := entryBelow(here.root, here.at, path)
			for _, other := range mounts {
				switch {
				case other.device != here.device || other.at == here.at:
				case contains(inFS, other.root): // all of it is private
					all = append(all, other.at)
				case contains(other.root, inFS):
					all = append(all, entryBelow(other.at, other.root, inFS))
				}
			}
		}
	}
	return sortUnique(all)
}

// entryBelow returns path, which folder contains, as it is called below root.
func entryBelow(root, folder, path string) string {
	switch rest := strings.TrimPrefix(path[len(folder):], "/"); {
	case rest == "":
		return root
	case root == folder:
		return path
	default:
		return entryOf(root, rest)
	}
}
