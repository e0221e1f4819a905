import java.net.*;
import java.util.*;

/** What Java learns of the machine's interfaces. */
public class Interfaces {
    public static void main(String[] args) throws Exception {
        for (NetworkInterface link : Collections.list(NetworkInterface.getNetworkInterfaces())) {
            List<String> addresses = new ArrayList<>();
            for (InetAddress address : Collections.list(link.getInetAddresses()))
                addresses.add(address.getHostAddress());
            Collections.sort(addresses);
            System.out.println(link.getName() + " " + link.getIndex() + " " + link.isUp() + " " + link.isLoopback()
                + " " + link.getMTU() + " " + addresses);
        }
        System.out.println(InetAddress.getLocalHost());
    }
}
