/* Java's clients of HTTP, no option of trust nor of a proxy: NetJava HTTPS HTTP2 HTTP WEBSOCKET (the ports of java.test). */
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.ConnectException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
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

	private static void chat(HttpClient client, String url) throws Exception {
		CompletableFuture<String> answer = new CompletableFuture<>();
		WebSocket socket = client.newWebSocketBuilder().connectTimeout(LIMIT)
				.buildAsync(URI.create(url + "/chat"), new WebSocket.Listener() {
					private final StringBuilder text = new StringBuilder();

					@Override
					public CompletionStage<?> onText(WebSocket from, CharSequence part, boolean last) {
						text.append(part);
						if (last)
							answer.complete(text.toString());
						from.request(1);
						return null;
					}

					@Override
					public void onError(WebSocket from, Throwable error) {
						answer.completeExceptionally(error);
					}
				}).get();
		socket.sendText("there and back", true).get();
		System.out.println("websocket " + answer.get(60, TimeUnit.SECONDS));
		socket.abort();
		try {
			client.newWebSocketBuilder().buildAsync(URI.create(url + "/other"), new WebSocket.Listener() { }).get();
		} catch (ExecutionException e) {
			System.out.println("websocket elsewhere "
					+ ((WebSocketHandshakeException) e.getCause()).getResponse().statusCode());
		}
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
		// And the upgrade to it without TLS, which is not taken up.
		System.out.println(client.send(to("http://java.test:" + ports[2] + "/ok").build(), BodyHandlers.ofString()).version());
		if (!ports[3].equals("0"))
			chat(client, "wss://java.test:" + ports[3]);
		try {
			client.send(to("https://elsewhere.test/").build(), BodyHandlers.ofString());
		} catch (ConnectException e) {
			System.out.println("elsewhere refused");
		}
	}
}
