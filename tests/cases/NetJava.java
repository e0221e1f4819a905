/* Java's clients of HTTP, no option of trust nor of a proxy: NetJava HTTPS HTTP2 (the ports of java.test). */
import java.io.IOException;
import java.net.ConnectException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.io.ByteArrayInputStream;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

public class NetJava {
	private static final Duration LIMIT = Duration.ofSeconds(60);
	private static String files;
	private static String pages;

	private static HttpRequest.Builder to(String url) {
		return HttpRequest.newBuilder(URI.create(url)).timeout(LIMIT);
	}

	private static void connection() throws IOException {
		HttpURLConnection connection = (HttpURLConnection) URI.create(pages + "/ok").toURL().openConnection();
		connection.setReadTimeout(60000);
		System.out.println("connection " + new String(connection.getInputStream().readAllBytes()).trim());
		connection = (HttpURLConnection) URI.create(pages + "/echo").toURL().openConnection();
		connection.setReadTimeout(60000);
		connection.setDoOutput(true);
		connection.setChunkedStreamingMode(1000);
		connection.getOutputStream().write(new byte[70000]);
		System.out.println("connection chunked " + connection.getInputStream().readAllBytes().length);
		connection = (HttpURLConnection) URI.create(pages + "/secret").toURL().openConnection();
		connection.setReadTimeout(60000);
		System.out.println("connection " + connection.getResponseCode() + " "
				+ new String(connection.getErrorStream().readAllBytes()).contains("path_not_granted"));
	}

	private static void client(String name, HttpClient client, String page, String upload) throws Exception {
		HttpResponse<String> response = client.send(to(page).build(), BodyHandlers.ofString());
		System.out.println(name + " " + response.version() + " " + response.body().trim());
		HttpResponse<byte[]> echo = client.send(to(upload)
				.POST(BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(new byte[200000]))).build(),
				BodyHandlers.ofByteArray());
		System.out.println(name + " upload " + echo.body().length);
		List<CompletableFuture<Integer>> answers = IntStream.range(0, 20)
				.mapToObj(i -> client.sendAsync(to(page + "?n=" + i).build(), BodyHandlers.ofString())
						.thenApply(HttpResponse::statusCode))
				.collect(Collectors.toList());
		System.out.println(name + " parallel " + answers.stream().filter(answer -> answer.join() == 200).count());
		response = client.send(to(page + "/secret").build(), BodyHandlers.ofString());
		System.out.println(name + " " + response.statusCode() + " " + response.body().contains("path_not_granted"));
	}

	public static void main(String[] ports) throws Exception {
		pages = "https://java.test:" + ports[0];
		files = "https://java.test:" + ports[1];
		connection();
		client("http/1", HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build(), pages + "/ok", pages + "/echo");
		HttpClient client = HttpClient.newHttpClient();
		client("http/2", client, files + "/file", files + "/up");
		// It offers HTTP/2 to who speaks /1 alone.
		System.out.println(client.send(to(pages + "/ok").build(), BodyHandlers.ofString()).version());
		try {
			client.send(to("https://elsewhere.test/").build(), BodyHandlers.ofString());
		} catch (ConnectException e) {
			System.out.println("elsewhere refused");
		}
	}
}
