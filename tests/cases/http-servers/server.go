// Go's net/http: server PORT-FILE LOG [KEY CERTIFICATE]; lines of LOG as server.py's. With a key: TLS, HTTP/2 where it is chosen.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
)

func main() {
	out, err := os.OpenFile(os.Args[2], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		log.Fatal(err)
	}
	server := http.Server{ErrorLog: log.New(io.Discard, "", 0)}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "bad body", http.StatusBadRequest)
			return
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%d\t%x\n", r.Method, r.RequestURI, r.Host, len(body), sha256.Sum256(body))
		fmt.Fprintf(w, "served %s %s\n", r.Method, r.RequestURI)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	_ = os.WriteFile(os.Args[1]+".new", []byte(fmt.Sprintln(listener.Addr().(*net.TCPAddr).Port)), 0o666)
	_ = os.Rename(os.Args[1]+".new", os.Args[1])
	if len(os.Args) > 4 {
		log.Fatal(server.ServeTLS(listener, os.Args[4], os.Args[3]))
	}
	log.Fatal(server.Serve(listener))
}
