//go:build desktop || bindings || dev

package window

/*
#cgo pkg-config: gtk+-3.0 webkit2gtk-4.1
#include <gtk/gtk.h>
#include <webkit2/webkit2.h>

// The process that draws the page has died: load the entrance anew, at most five times a
// minute, so that a page that kills it each time does not keep the machine busy.
static void drawbridge_ended(WebKitWebView *view, WebKitWebProcessTerminationReason why, gpointer data) {
	static gint64 recent[5];
	static int next;
	gint64 now = g_get_monotonic_time();
	if (recent[next] != 0 && now - recent[next] < 60 * G_USEC_PER_SEC) {
		g_printerr("drawbridge-window: the page ends again and again; close the window and open it anew\n");
		return;
	}
	recent[next] = now;
	next = (next + 1) % 5;
	g_printerr("drawbridge-window: the process that draws the page ended; loading the page anew\n");
	webkit_web_view_load_uri(view, "wails://wails/");
}

static void drawbridge_look(GtkWidget *widget, gpointer data) {
	if (WEBKIT_IS_WEB_VIEW(widget)) {
		if (g_object_get_data(G_OBJECT(widget), "drawbridge") != NULL) {
			return; // it is watched already
		}
		g_object_set_data(G_OBJECT(widget), "drawbridge", widget);
		g_signal_connect(widget, "web-process-terminated", G_CALLBACK(drawbridge_ended), NULL);
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
static void drawbridge_revive(void) { g_idle_add(drawbridge_arm, NULL); }
*/
import "C"

// revive has the page loaded anew when the process that draws it dies: Wails v2 would
// show a frozen page for ever, and has no event for it. Before the window is there it has
// no effect; twice is as good as once.
func revive() { C.drawbridge_revive() }
