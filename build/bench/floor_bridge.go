package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
)

// serveFloor runs the floor: an HTTP server that writes one line to the child per request and reads
// one line back. The child responds in order, so nothing has to be parsed. It prints its address.
// Unless answer is "0", the child responds with that many bytes instead of an echo.
func serveFloor(answer string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.Command(self, "upstream")
	if answer != "0" {
		child = exec.Command(self, "bytes", answer)
	}
	in, err := child.StdinPipe()
	if err != nil {
		return err
	}
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	waiting := make(chan chan []byte, 4096)
	go func() {
		r := bufio.NewReaderSize(out, 64<<10)
		for {
			line, err := readLine(r)
			if err != nil {
				os.Exit(1)
			}
			<-waiting <- line
		}
	}()
	var write sync.Mutex
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		reply := make(chan []byte, 1)
		write.Lock()
		waiting <- reply
		_, err = in.Write(append(body, '\n'))
		write.Unlock()
		if err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(<-reply)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	return http.Serve(listener, handler)
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}
