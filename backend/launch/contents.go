package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Limits of a folder of npm's cache whose program is started directly.
const (
	maxFiles    = 200_000
	maxPackages = 5_000
	maxBytes    = 2 << 30
	maxList     = 32 << 20 // of a package.json or of npm's list of packages
)

// contents describes the code in a folder of npm's cache.
type contents struct {
	// Stamp is a hash of the names, sizes and times of the files. If it is the same, so is the code.
	Stamp    string                   `json:"stamp"`
	Packages map[string]installedCode `json:"packages"` // by their folder
}

// installedCode is the version of an installed package and a hash of its code.
type installedCode struct {
	Version string `json:"version"`
	Hash    string `json:"hash"`
	ByNpm   bool   `json:"byNpm"` // npm's list of the folder has it with this version
}

// codeEndings are the endings of files that are run. Servers write other files into their packages: the
// one that remembers facts keeps them beside its program.
var codeEndings = map[string]bool{
	".js": true, ".cjs": true, ".mjs": true, ".jsx": true, ".ts": true, ".cts": true, ".mts": true, ".node": true, ".wasm": true, ".so": true, ".dll": true, ".dylib": true,
	".exe": true, ".cmd": true, ".bat": true, ".ps1": true, ".sh": true, ".py": true, ".rb": true, ".pl": true, ".lua": true,
}

// mayBeCode reports whether a file with this name is run, or may be if it is executable.
func mayBeCode(name string) (code, ifExecutable bool) {
	ending := strings.ToLower(filepath.Ext(name))
	types := strings.HasSuffix(ending, "ts") && strings.HasSuffix(strings.TrimSuffix(strings.ToLower(name), ending), ".d")
	return codeEndings[ending] && !types || name == "package.json", ending == "" && runtime.GOOS != "windows"
}

// codeFile is a file or symbolic link below a folder.
type codeFile struct {
	path, link string // relative; link is its target
}

// scan returns the stamp and the files of the code in folder.
func scan(folder string) (stamp string, files []codeFile, err error) {
	sum := sha256.New()
	seen := 0
	var walk func(dir string) error
	walk = func(dir string) error {
		entries, err := os.ReadDir(filepath.Join(folder, dir))
		if err != nil {
			return err
		}
		if seen += len(entries); seen > maxFiles {
			return errors.New("npm's cache has too many files")
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if e.IsDir() {
				if err := walk(path); err != nil {
					return err
				}
				continue
			}
			one, link := codeFile{path: path}, e.Type()&(fs.ModeSymlink|fs.ModeIrregular) != 0 // irregular: a junction of Windows
			code, ifExecutable := mayBeCode(e.Name())
			if !link && !code && !ifExecutable { // most files: the rest costs
				continue
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			if link {
				if one.link, err = os.Readlink(filepath.Join(folder, path)); err != nil {
					return err
				}
			} else if !info.Mode().IsRegular() || !code && info.Mode()&0o111 == 0 {
				continue
			}
			inode, changed := identity(info)
			fmt.Fprintf(sum, "%s\x00%s\x00%d %d %d %d %o\n", path, one.link, info.Size(), info.ModTime().UnixNano(), inode, changed, info.Mode())
			files = append(files, one)
		}
		return nil
	}
	err = walk("node_modules")
	return hex.EncodeToString(sum.Sum(nil)), files, err
}

// readContents reads all code in folder.
func readContents(folder string) (contents, error) {
	stamp, files, err := scan(folder)
	if err != nil {
		return contents{}, err
	}
	c := contents{Stamp: stamp, Packages: map[string]installedCode{}}
	sums := map[string]hash.Hash{}
	left := int64(maxBytes)
	for _, f := range files {
		of := packageFolder(f.path)
		if sums[of] == nil {
			sums[of] = sha256.New()
		}
		if len(sums) > maxPackages {
			return contents{}, errors.New("npm's cache has too many packages")
		}
		fmt.Fprintf(sums[of], "%s\x00%s\x00", f.path, f.link)
		if f.link == "" {
			n, err := addFile(sums[of], filepath.Join(folder, f.path), left)
			if err != nil {
				return contents{}, err
			}
			left -= n
			fmt.Fprintf(sums[of], "\x00%d\x00", n)
		}
	}
	var list struct {
		Packages map[string]struct{ Version string }
	}
	_ = readJSON(filepath.Join(folder, "node_modules", ".package-lock.json"), &list) // without it, npm installed nothing
	for of, sum := range sums {
		one := installedCode{Version: versionIn(filepath.Join(folder, of)), Hash: hex.EncodeToString(sum.Sum(nil)[:16])}
		of = filepath.ToSlash(of)
		one.ByNpm = one.Version != "" && list.Packages[of].Version == one.Version
		c.Packages[of] = one
	}
	if again, _, err := scan(folder); err != nil || again != stamp {
		return contents{}, errors.Join(errors.New("npm's cache changed while it was read"), err)
	}
	return c, nil
}

func addFile(sum hash.Hash, path string, left int64) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := io.Copy(sum, io.LimitReader(f, left+1))
	if n > left {
		err = errors.New("npm's cache is too large")
	}
	return n, err
}

// packageFolder returns the folder of the package that a file belongs to.
func packageFolder(path string) string {
	parts := strings.Split(filepath.ToSlash(path), "/")
	for i := len(parts) - 2; i >= 0; i-- {
		if parts[i] == "node_modules" {
			n := i + 2
			if strings.HasPrefix(parts[i+1], "@") {
				n++
			}
			return filepath.Join(parts[:min(n, len(parts))]...)
		}
	}
	return path
}

// versionIn returns the version of the package in a folder, or "".
func versionIn(folder string) string {
	var about struct{ Version string }
	if readJSON(filepath.Join(folder, "package.json"), &about) != nil || len(about.Version) > 100 {
		return ""
	}
	return about.Version
}

func readJSON(path string, into any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return json.NewDecoder(io.LimitReader(f, maxList)).Decode(into)
}

// difference returns the packages that differ: those that npm updated, and others (replaced), whose code
// changed although their version did not, or that npm did not install.
func difference(was, is map[string]installedCode) (replaced, updated []string) {
	all := maps.Clone(was)
	maps.Copy(all, is)
	links := false
	for _, of := range slices.Sorted(maps.Keys(all)) {
		a, had := was[of]
		b, has := is[of]
		name := of[strings.LastIndex(of, "node_modules/")+len("node_modules/"):]
		switch {
		case a.Version == b.Version && a.Hash == b.Hash:
		case name == ".bin":
			links = true
		case has && (had && a.Version == b.Version || !b.ByNpm):
			replaced = append(replaced, strings.TrimSuffix(name+" "+b.Version, " "))
		default:
			updated = append(updated, name)
		}
	}
	if links && len(updated) == 0 {
		replaced = append(replaced, "links to programs (.bin)")
	}
	return replaced, updated
}

// installedSince reports whether npm changed a folder of its cache after a time.
func installedSince(folder string, since time.Time) bool {
	info, err := os.Stat(filepath.Join(folder, "node_modules", ".package-lock.json"))
	return err != nil || info.ModTime().After(since)
}
