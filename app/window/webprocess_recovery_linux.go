//go:build desktop || bindings || dev

package window

/*
#cgo pkg-config: gtk+-3.0 webkit2gtk-4.1
#include <gtk/gtk.h>
#include <webkit2/webkit2.h>

extern void drawbridgePageDied(void);
extern void drawbridgePageFailed(void);
extern void drawbridgeFatal(void);

// The process that draws the page has died: load the entrance anew.
static void drawbridge_ended(WebKitWebView *view, WebKitWebProcessTerminationReason why, gpointer data) {
	drawbridgePageDied();
	webkit_web_view_load_uri(view, "wails://wails/");
}

static gboolean drawbridge_enter(gpointer view) {
	webkit_web_view_load_uri(WEBKIT_WEB_VIEW(view), "wails://wails/");
	return G_SOURCE_REMOVE;
}

// The daemon's page could not be loaded: the entrance says more than WebKit's own page for
// that, and tries again. What somebody called off, or what became a download, did not fail.
static gboolean drawbridge_failed(WebKitWebView *view, WebKitLoadEvent event, const char *uri, GError *error, gpointer data) {
	if (uri == NULL || !g_str_has_prefix(uri, "http://") || error->domain == WEBKIT_POLICY_ERROR ||
		g_error_matches(error, WEBKIT_NETWORK_ERROR, WEBKIT_NETWORK_ERROR_CANCELLED) ||
		g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
		return FALSE;
	}
	drawbridgePageFailed();
	g_idle_add_full(G_PRIORITY_DEFAULT_IDLE, drawbridge_enter, g_object_ref(view), g_object_unref);
	return TRUE;
}

static void drawbridge_look(GtkWidget *widget, gpointer data) {
	if (WEBKIT_IS_WEB_VIEW(widget)) {
		if (g_object_get_data(G_OBJECT(widget), "drawbridge") != NULL) {
			return; // it is watched already
		}
		g_object_set_data(G_OBJECT(widget), "drawbridge", widget);
		g_signal_connect(widget, "web-process-terminated", G_CALLBACK(drawbridge_ended), NULL);
		g_signal_connect(widget, "load-failed", G_CALLBACK(drawbridge_failed), NULL);
	} else if (GTK_IS_CONTAINER(widget)) {
		gtk_container_forall(GTK_CONTAINER(widget), drawbridge_look, NULL);
	}
}

static gboolean drawbridge_arm(gpointer data) {
	GList *tops = gtk_window_list_toplevels();
	for (GList *each = tops; each != NULL; each = each->next) {
		drawbridge_look(GTK_WIDGET(each->data), NULL);
	}
	g_list_free(tops);
	return G_SOURCE_REMOVE;
}

// GTK's functions belong to its own thread.
static void drawbridge_watch(void) { g_idle_add(drawbridge_arm, NULL); }

// A message of this level is the last one: GLib ends the program when we return.
static GLogWriterOutput drawbridge_log(GLogLevelFlags level, const GLogField *fields, gsize n, gpointer data) {
	GLogWriterOutput out = g_log_writer_default(level, fields, n, data);
	if (level & G_LOG_LEVEL_ERROR) {
		drawbridgeFatal();
	}
	return out;
}

static void drawbridge_hear(void) { g_log_set_writer_func(drawbridge_log, NULL, NULL); }
*/
import "C"

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// living is the life of this program, for the callbacks of GTK.
var living *lifecycle

// recoverRenderer has the page come back when the process that draws it dies. WebKit ends the whole
// program when that process dies before it has said its number
// (ProcessLauncherGLib.cpp calls g_error): then the program begins anew in its own place.
// It is called once, before there is a window.
func recoverRenderer(l *lifecycle) {
	living = l
	C.drawbridge_hear()
}

// watchPage has us hear of the death of the page's process and of a page that could not be
// loaded: Wails v2 would show a frozen page, or WebKit's words for it, for ever, and has no
// event for either. Before the window is there it has no effect;
// twice is as good as once.
func watchPage() { C.drawbridge_watch() }

//export drawbridgePageDied
func drawbridgePageDied() {
	if living.recordCrash() {
		fmt.Fprintln(os.Stderr, "drawbridge-window: the process that draws the page ended; loading the page anew")
		return
	}
	living.openBrowserInstead()
	os.Exit(noWindow)
}

//export drawbridgePageFailed
func drawbridgePageFailed() {
	fmt.Fprintln(os.Stderr, "drawbridge-window: the page could not be loaded; trying again")
	living.lead.fail()
}

//export drawbridgeFatal
func drawbridgeFatal() {
	if !living.recordCrash() {
		living.openBrowserInstead()
		os.Exit(noWindow)
	}
	fmt.Fprintln(os.Stderr, "drawbridge-window: WebKit ends the window; beginning anew")
	env := restartEnvironment(os.Environ(), living.lead.base(), living.daemon.folder(), living.past, living.awaited())
	err := syscall.Exec("/proc/self/exe", os.Args, env)
	fmt.Fprintln(os.Stderr, "drawbridge-window: cannot begin anew:", err)
}

// recordCrash notes a death and reports whether to try once more.
func (l *lifecycle) recordCrash() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.past.record(time.Now())
}

// openBrowserInstead hands the user over to the browser, in our own place, because the page dies again
// and again. It returns where whoever started us does that at our end, or when it cannot be.
func (l *lifecycle) openBrowserInstead() {
	fmt.Fprintln(os.Stderr, "drawbridge-window: the page ends again and again; it opens in the browser instead")
	if pipe := []unix.PollFd{{Fd: readyDescriptor}}; l.awaited() {
		if n, err := unix.Poll(pipe, 0); n == 0 && err == nil { // he has not closed his end of it
			return
		}
	}
	self, _ := os.Executable() // without it the program is looked for in PATH
	program, err := exec.LookPath(daemonProgram(self))
	if err == nil {
		args := []string{program, "open", "--browser"}
		if data := l.daemon.folder(); data != "" {
			args = append(args, "--data", data)
		}
		err = syscall.Exec(program, args, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "drawbridge-window: cannot open the browser:", err)
}
