// A Go program with Go's own resolver and TLS: asks for each URL; -h2: only HTTP/2 will do.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

func ask(client *http.Client, url string) string {
	response, err := client.Get(url)
	if err != nil {
		return fmt.Sprintf("failed: %v\n", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Sprintf("broken off: %v\n", err)
	}
	if len(body) > 100 {
		return fmt.Sprintf("%s %d bytes\n", response.Status, len(body))
	}
	return fmt.Sprintf("%s %s", response.Status, body)
}

func main() {
	client := &http.Client{Timeout: 30 * time.Second}
	for _, url := range os.Args[1:] {
		fmt.Print(ask(client, url))
	}
	// The last one many times at once.
	var group sync.WaitGroup
	answers := make([]string, 50)
	for i := range answers {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			answers[i] = ask(client, os.Args[len(os.Args)-1])
		}(i)
	}
	group.Wait()
	same := 0
	for _, answer := range answers {
		if answer == answers[0] {
			same++
		}
	}
	fmt.Print(same, " times ", answers[0])
}
