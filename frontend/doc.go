// Package frontend embeds the built page (frontend/dist) into the daemon.
//
// [FS] is the file system that package api serves. Run npm --prefix frontend run build before
// building the daemon.
package frontend
