// Command channels generates what package channels need from the packages of one release:
//
//	channels PACKAGES OUT
//
// PACKAGES contains the release's files with their SHA256SUMS. OUT receives a Homebrew formula and
// cask, a Scoop manifest, winget manifests, the files of an AUR package, and npm packages that
// contain the programs. Nothing is published.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

const repository = "https://github.com/drawbridge-mcp/drawbridge"

// templates are the generated files, except for the packages of platforms.
//
//go:embed all:templates
var templates embed.FS

// release is the data of the templates.
type release struct {
	Version    string // such as "1.2.3", or "0.1.0~git20260102.0123abcd" between releases
	Repository string
	sums       map[string]string // file names to SHA-256 in hexadecimal
}

// archive is a file of the release.
type archive struct{ Name, URL, SHA256 string }

// Archive returns the file for a platform, such as "linux-amd64.tar.gz".
func (r release) Archive(platform string) (archive, error) {
	name := "drawbridge-" + r.Version + "-" + platform
	sum, ok := r.sums[name]
	if !ok {
		return archive{}, fmt.Errorf("SHA256SUMS does not list %s", name)
	}
	return archive{name, r.Repository + "/releases/download/v" + r.Version + "/" + name, sum}, nil
}

// Semver returns the version in the form that npm and Scoop accept.
func (r release) Semver() string { return strings.ReplaceAll(r.Version, "~", "-") }

// ArchVersion returns the version in the form that makepkg accepts.
func (r release) ArchVersion() string {
	return strings.NewReplacer("~", "_", "-", "_").Replace(r.Version)
}

// Has reports whether the release contains an archive. Only the one for macOSArchive may be
// missing.
func (r release) Has(platform string) bool {
	_, err := r.Archive(platform)
	return err == nil
}

// Platforms returns the platforms that have an npm package.
func (r release) Platforms() []platform {
	return slices.DeleteFunc(slices.Clone(platforms), func(p platform) bool { return p.archive == macOSArchive && !r.Has(macOSArchive) })
}

// cask is the template that needs the archive for macOSArchive.
const cask = "templates/homebrew/Casks/drawbridge.rb"

// platform is an npm package with programs, for the system and processor in the terms of Node.js.
type platform struct {
	OS, CPU string
	archive string   // the archive that contains the programs
	files   []string // files of the archive that the package contains
}

// macOSArchive is the archive of the application, whose helper is the program that the npm packages
// contain.
const macOSArchive = "macos-universal.zip"

var macOSFiles = []string{
	"Drawbridge.app/Contents/Helpers/Drawbridge Daemon.app/Contents/MacOS/drawbridge",
	"Drawbridge.app/Contents/Resources/LICENSE", "Drawbridge.app/Contents/Resources/THIRD-PARTY.txt",
}

var platforms = []platform{
	{"linux", "x64", "linux-amd64.tar.gz", []string{"drawbridge", "LICENSE", "THIRD-PARTY.txt"}},
	{"linux", "arm64", "linux-arm64.tar.gz", []string{"drawbridge", "LICENSE", "THIRD-PARTY.txt"}},
	{"win32", "x64", "windows-amd64.zip", []string{"drawbridge.exe", "drawbridgew.exe", "drawbridge-window.exe", "LICENSE", "THIRD-PARTY.txt"}},
	{"win32", "arm64", "windows-arm64.zip", []string{"drawbridge.exe", "drawbridgew.exe", "drawbridge-window.exe", "LICENSE", "THIRD-PARTY.txt"}},
	{"darwin", "x64", macOSArchive, macOSFiles},
	{"darwin", "arm64", macOSArchive, macOSFiles},
}

func (p platform) Name() string { return "@drawbridge-mcp/" + p.OS + "-" + p.CPU }

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: channels PACKAGES OUT")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		log.Fatal("channels: ", err)
	}
}

func generate(packages, out string) error {
	r, err := readRelease(packages)
	if err != nil {
		return err
	}
	err = fs.WalkDir(templates, "templates", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == cask && !r.Has(macOSArchive) {
			return err
		}
		text, err := r.renderTemplate(name)
		if err != nil {
			return err
		}
		return write(filepath.Join(out, strings.TrimPrefix(name, "templates/")), bytes.NewReader(text), 0o644)
	})
	if err != nil {
		return err
	}
	for _, p := range r.Platforms() {
		if err := r.writePlatform(packages, filepath.Join(out, "npm", p.OS+"-"+p.CPU), p); err != nil {
			return err
		}
	}
	return nil
}

var sumLine = regexp.MustCompile(`(?m)^([0-9a-f]{64})  (drawbridge-(.+)-linux-amd64\.tar\.gz|\S+)$`)

// readRelease takes the version from the name of an archive that every release has.
func readRelease(packages string) (release, error) {
	text, err := os.ReadFile(filepath.Join(packages, "SHA256SUMS"))
	if err != nil {
		return release{}, err
	}
	r := release{Repository: repository, sums: map[string]string{}}
	for _, m := range sumLine.FindAllStringSubmatch(string(text), -1) {
		r.sums[m[2]] = m[1]
		if m[3] != "" {
			r.Version = m[3]
		}
	}
	if r.Version == "" {
		return release{}, errors.New("SHA256SUMS lists no drawbridge-VERSION-linux-amd64.tar.gz")
	}
	return r, nil
}

func (r release) renderTemplate(name string) ([]byte, error) {
	src, err := templates.ReadFile(name)
	if err != nil {
		return nil, err
	}
	t, err := template.New(path.Base(name)).Parse(string(src))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, r)
	return b.Bytes(), err
}

// writePlatform writes an npm package with the programs from their archive.
func (r release) writePlatform(packages, dir string, p platform) error {
	description := fmt.Sprintf(`{
  "name": %q,
  "version": %q,
  "description": "The programs of drawbridge-mcp for %s on %s",
  "repository": {"type": "git", "url": "git+%s.git"},
  "license": "Apache-2.0",
  "os": [%q],
  "cpu": [%q]
}
`, p.Name(), r.Semver(), p.OS, p.CPU, r.Repository, p.OS, p.CPU)
	if err := write(filepath.Join(dir, "package.json"), strings.NewReader(description), 0o644); err != nil {
		return err
	}
	file := "drawbridge-" + r.Version + "-" + p.archive
	found, err := extract(filepath.Join(packages, file), dir, p.files)
	if err == nil && found != len(p.files) {
		err = fmt.Errorf("it contains %d of %v", found, p.files)
	}
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", file, err)
	}
	return nil
}

// extract writes the named files of an archive into dir, without their folders.
func extract(archive, dir string, names []string) (found int, err error) {
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	take := func(name string, mode fs.FileMode, src io.Reader) error {
		found++
		return write(filepath.Join(dir, name), src, mode)
	}
	if strings.HasSuffix(archive, ".zip") {
		z, err := zip.OpenReader(archive)
		if err != nil {
			return 0, err
		}
		defer func() { _ = z.Close() }()
		for _, f := range z.File {
			if !wanted[f.Name] {
				continue
			}
			src, err := f.Open()
			if err == nil {
				err = errors.Join(take(path.Base(f.Name), 0o755, src), src.Close())
			}
			if err != nil {
				return found, err
			}
		}
		return found, nil
	}
	f, err := os.Open(archive)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return 0, err
	}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			return found, err
		}
		// drawbridge-VERSION/NAME; the completions are in a deeper folder.
		if name := path.Base(h.Name); wanted[name] && strings.Count(h.Name, "/") == 1 && h.Typeflag == tar.TypeReg {
			if err := take(name, h.FileInfo().Mode().Perm(), t); err != nil {
				return found, err
			}
		}
	}
}

func write(path string, src io.Reader, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, src)
	// npm packs the permissions, which therefore must not depend on the umask.
	return errors.Join(err, f.Chmod(mode), f.Close())
}
