// What Go's net package learns of the machine's interfaces.
package main

import (
	"fmt"
	"net"
)

func main() {
	links, err := net.Interfaces()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, link := range links {
		addresses, err := link.Addrs()
		fmt.Println(link.Index, link.Name, link.MTU, link.Flags, addresses, err)
	}
}
