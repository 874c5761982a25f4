//go:build desktop || bindings || dev

package window

/*
#cgo pkg-config: gtk+-3.0 webkit2gtk-4.1
#include <gtk/gtk.h>
#include <webkit2/webkit2.h>

extern void drawbridgePageCrashed(void);
extern void drawbridgePageFailed(void);
extern void drawbridgeFatal(void);

// The process that renders the page has crashed: reload the entry page.
static void drawbridge_ended(WebKitWebView *view, WebKitWebProcessTerminationReason why, gpointer data) {
	drawbridgePageCrashed();
	webkit_web_view_load_uri(view, "wails://wails/");
}

static gboolean drawbridge_load_entry_page(gpointer view) {
	webkit_web_view_load_uri(WEBKIT_WEB_VIEW(view), "wails://wails/");
	return G_SOURCE_REMOVE;
}

// The daemon's page failed to load. The entry page explains more than WebKit's own error page,
// and tries again. Cancelled loads and downloads are not failures.
static gboolean drawbridge_failed(WebKitWebView *view, WebKitLoadEvent event, const char *uri, GError *error, gpointer data) {
	if (uri == NULL || !g_str_has_prefix(uri, "http://") || error->domain == WEBKIT_POLICY_ERROR ||
		g_error_matches(error, WEBKIT_NETWORK_ERROR, WEBKIT_NETWORK_ERROR_CANCELLED) ||
		g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
		return FALSE;
	}
	drawbridgePageFailed();
	g_idle_add_full(G_PRIORITY_DEFAULT_IDLE, drawbridge_load_entry_page, g_object_ref(view), g_object_unref);
	return TRUE;
}

static void drawbridge_connect_view(GtkWidget *widget, gpointer data) {
	if (WEBKIT_IS_WEB_VIEW(widget)) {
		if (g_object_get_data(G_OBJECT(widget), "drawbridge") != NULL) {
			return; // already connected
		}
		g_object_set_data(G_OBJECT(widget), "drawbridge", widget);
		g_signal_connect(widget, "web-process-terminated", G_CALLBACK(drawbridge_ended), NULL);
		g_signal_connect(widget, "load-failed", G_CALLBACK(drawbridge_failed), NULL);
	} else if (GTK_IS_CONTAINER(widget)) {
		gtk_container_forall(GTK_CONTAINER(widget), drawbridge_connect_view, NULL);
	}
}

static gboolean drawbridge_connect_views(gpointer data) {
	GList *tops = gtk_window_list_toplevels();
	for (GList *each = tops; each != NULL; each = each->next) {
		drawbridge_connect_view(GTK_WIDGET(each->data), NULL);
	}
	g_list_free(tops);
	return G_SOURCE_REMOVE;
}

// GTK's functions must be called on its own thread. The priority is higher than that of WebKit's
// messages: otherwise a crash before the first idle moment of the window would not be noticed.
static void drawbridge_watch(void) { g_idle_add_full(G_PRIORITY_HIGH, drawbridge_connect_views, NULL, NULL); }

// This level is fatal: GLib ends the program when the function returns.
static GLogWriterOutput drawbridge_log(GLogLevelFlags level, const GLogField *fields, gsize n, gpointer data) {
	GLogWriterOutput out = g_log_writer_default(level, fields, n, data);
	if (level & G_LOG_LEVEL_ERROR) {
		drawbridgeFatal();
	}
	return out;
}

static void drawbridge_watch_log(void) { g_log_set_writer_func(drawbridge_log, NULL, NULL); }
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

// recovery is the state for the callbacks of GTK.
var recovery *rendererRecovery

// recoverRenderer makes the page recover when the process that renders it crashes. WebKit ends the
// whole program if that process crashes before it has reported its process id
// (ProcessLauncherGLib.cpp calls g_error); then the program restarts itself with exec. It must be
// called once, before the window exists.
func recoverRenderer(l *rendererRecovery) {
	recovery = l
	C.drawbridge_watch_log()
}

// watchPage reports crashes of the page's process and pages that failed to load. Wails v2 has no
// event for either and would show a frozen page, or WebKit's error page, forever. It has no effect
// before the window exists, and may be called twice.
func watchPage() { C.drawbridge_watch() }

//export drawbridgePageCrashed
func drawbridgePageCrashed() {
	if recovery.recordCrash() {
		fmt.Fprintln(os.Stderr, "drawbridge-window: the process that renders the page crashed; reloading the page")
		return
	}
	recovery.openBrowserInstead()
	os.Exit(exitNoWindow)
}

//export drawbridgePageFailed
func drawbridgePageFailed() {
	fmt.Fprintln(os.Stderr, "drawbridge-window: the page failed to load; trying again")
	recovery.entry.fail()
}

//export drawbridgeFatal
func drawbridgeFatal() {
	if !recovery.recordCrash() {
		recovery.openBrowserInstead()
		os.Exit(exitNoWindow)
	}
	fmt.Fprintln(os.Stderr, "drawbridge-window: WebKit terminated the window; restarting it")
	env := restartEnvironment(os.Environ(), recovery.entry.origin(), recovery.daemon.folder(), recovery.past, recovery.awaited())
	err := syscall.Exec("/proc/self/exe", os.Args, env)
	fmt.Fprintln(os.Stderr, "drawbridge-window: cannot restart the window:", err)
}

func (l *rendererRecovery) recordCrash() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.past.record(time.Now())
}

// openBrowserInstead replaces this process by one that opens the page in the browser, because the
// page crashes repeatedly. It returns if the process that started us opens the browser after our
// exit, or if it fails.
func (l *rendererRecovery) openBrowserInstead() {
	fmt.Fprintln(os.Stderr, "drawbridge-window: the page crashes repeatedly; opening it in the browser instead")
	if pipe := []unix.PollFd{{Fd: readyDescriptor}}; l.awaited() {
		if n, err := unix.Poll(pipe, 0); n == 0 && err == nil { // the reader has not closed its end
			return
		}
	}
	self, _ := os.Executable() // without it the program is searched in PATH
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
