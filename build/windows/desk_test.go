//go:build windows && e2e

package windows

import (
	"crypto/rand"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

var (
	user32 = windows.NewLazySystemDLL("user32.dll")
	gdi32  = windows.NewLazySystemDLL("gdi32.dll")
)

// desk is the desktop that Wine shows on a screen. A test sees its pixels and has its mouse. All methods
// must be called on the goroutine that called newDesk.
type desk struct {
	*testing.T
	stale map[uintptr]bool // windows of menus that Wine left
}

// deskName is new in each run: Wine keeps a desktop whose explorer was killed, but no longer draws on it.
var deskName = "drawbridge-" + rand.Text()

// newDesk joins the desktop once the explorer that a test started has created it.
func newDesk(t *testing.T) desk {
	t.Helper()
	if os.Getenv("DISPLAY") == "" {
		t.Fatal("DISPLAY does not name a screen")
	}
	runtime.LockOSThread() // the desktop belongs to the thread, which ends with the test
	eventually.True(t, "there is a desktop", func() bool {
		const all = 0x10000000
		handle := user("OpenDesktopW", text(deskName), 0, 0, all)
		return handle != 0 && user("SetThreadDesktop", handle) != 0
	})
	return desk{t, map[uintptr]bool{}}
}

func user(name string, args ...uintptr) uintptr {
	result, _, _ := user32.NewProc(name).Call(args...)
	return result
}

func gdi(name string, args ...uintptr) uintptr {
	result, _, _ := gdi32.NewProc(name).Call(args...)
	return result
}

func text(s string) uintptr {
	p, err := windows.UTF16PtrFromString(s)
	if err != nil {
		panic(err) // a constant without NUL
	}
	return uintptr(unsafe.Pointer(p))
}

// windows returns the places of the visible windows of a class in a window, or of those on the desktop.
func (desk) windows(within uintptr, class string) (handles []uintptr, places []image.Rectangle) {
	for h := uintptr(0); ; {
		if h = user("FindWindowExW", within, h, text(class), 0); h == 0 {
			return handles, places
		}
		if user("IsWindowVisible", h) == 0 {
			continue
		}
		var r struct{ left, top, right, bottom int32 }
		if user("GetWindowRect", h, uintptr(unsafe.Pointer(&r))) != 0 {
			handles = append(handles, h)
			places = append(places, image.Rect(int(r.left), int(r.top), int(r.right), int(r.bottom)))
		}
	}
}

// look returns what the screen shows at a place.
func (d desk) look(at image.Rectangle) *image.RGBA {
	d.Helper()
	width, height := uintptr(at.Dx()), uintptr(at.Dy())
	screen := user("GetDC", 0)
	defer user("ReleaseDC", 0, screen)
	memory := gdi("CreateCompatibleDC", screen)
	defer gdi("DeleteDC", memory)
	bitmap := gdi("CreateCompatibleBitmap", screen, width, height)
	defer gdi("DeleteObject", bitmap)
	was := gdi("SelectObject", memory, bitmap)
	const copied = 0x00CC0020
	if gdi("BitBlt", memory, 0, 0, width, height, screen, uintptr(at.Min.X), uintptr(at.Min.Y), copied) == 0 {
		d.Fatal("the screen cannot be read")
	}
	gdi("SelectObject", memory, was)
	info := struct { // BITMAPINFOHEADER; a negative height means from top to bottom
		size          uint32
		width, height int32
		planes, bits  uint16
		_             [6]uint32
	}{size: 40, width: int32(width), height: -int32(height), planes: 1, bits: 32}
	picture := image.NewRGBA(image.Rectangle{Max: at.Size()})
	if gdi("GetDIBits", memory, bitmap, 0, height, uintptr(unsafe.Pointer(&picture.Pix[0])), uintptr(unsafe.Pointer(&info)), 0) == 0 {
		d.Fatal("the pixels cannot be read")
	}
	for i := 0; i < len(picture.Pix); i += 4 { // from BGRX
		p := picture.Pix[i : i+4]
		p[0], p[2], p[3] = p[2], p[0], 0xff
	}
	return picture
}

// keep writes a picture of the desktop for those who run the tests with -artifacts.
func (d desk) keep(name string) {
	d.Helper()
	f, err := os.Create(filepath.Join(d.ArtifactDir(), name+".png"))
	if err != nil {
		d.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, d.look(image.Rect(0, 0, 640, 400))); err != nil {
		d.Fatal(err)
	}
}

// click presses a button of the mouse; away from menus it closes them.
func (desk) click(at image.Point, right bool) {
	down := uintptr(2)
	if right {
		down = 8
	}
	user("SetCursorPos", uintptr(at.X), uintptr(at.Y))
	user("mouse_event", down, 0, 0, 0, 0)
	user("mouse_event", 2*down, 0, 0, 0, 0)
}

// entries returns the middle of each entry of a menu: of the bands of pixels that are not the background.
// Separators are lower than letters.
func (d desk) entries(menu image.Rectangle) (middles []image.Point) {
	picture := d.look(menu.Inset(3))
	blank := picture.RGBAAt(1, 0)
	size := picture.Rect.Size()
	top := -1
	for y := range size.Y + 1 {
		empty := true
		for x := 0; x < size.X && y < size.Y && empty; x++ {
			empty = picture.RGBAAt(x, y) == blank
		}
		switch {
		case !empty && top < 0:
			top = y
		case empty && top >= 0:
			if y-top > 3 {
				middles = append(middles, image.Pt(menu.Min.X+menu.Dx()/2, menu.Min.Y+3+(top+y)/2))
			}
			top = -1
		}
	}
	return middles
}
