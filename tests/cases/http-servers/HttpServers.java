// Java's com.sun.net.httpserver: HttpServers PORT-FILE LOG; lines of LOG as server.py's.
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.concurrent.Executors;

public class HttpServers {
    public static void main(String[] args) throws Exception {
        Path log = Path.of(args[1]), file = Path.of(args[0]), made = Path.of(args[0] + ".new");
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 1024);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", exchange -> {
            try {
                byte[] body = exchange.getRequestBody().readAllBytes();
                byte[] sum = MessageDigest.getInstance("SHA-256").digest(body);
                String method = exchange.getRequestMethod(), target = exchange.getRequestURI().toString();
                String host = exchange.getRequestHeaders().getFirst("Host");
                String line = method + "\t" + target + "\t" + host + "\t" + body.length + "\t" + HexFormat.of().formatHex(sum, 0, 4);
                synchronized (server) {
                    Files.writeString(log, line + "\n", StandardOpenOption.APPEND, StandardOpenOption.CREATE);
                }
                byte[] data = ("served " + method + " " + target + "\n").getBytes();
                exchange.sendResponseHeaders(200, method.equals("HEAD") ? -1 : data.length);
                if (!method.equals("HEAD"))
                    exchange.getResponseBody().write(data);
            } catch (java.security.NoSuchAlgorithmException error) {
                throw new IllegalStateException(error);
            } finally {
                exchange.close();
            }
        });
        server.start();
        Files.writeString(made, server.getAddress().getPort() + "\n");
        Files.move(made, file, StandardCopyOption.ATOMIC_MOVE);
    }
}
